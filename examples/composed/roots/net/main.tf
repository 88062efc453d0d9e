terraform {
  backend "local" {}
}

resource "terraform_data" "network" {
  input = "10.0.0.0/16"
}

resource "terraform_data" "zone" {
  input = "example.test"
}

output "cidr" {
  value = terraform_data.network.output
}

output "zone" {
  value = terraform_data.zone.output
}
