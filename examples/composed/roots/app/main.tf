terraform {
  backend "local" {}
}

variable "cidr" {
  type = string
}

resource "terraform_data" "service" {
  input = "listens in ${var.cidr}"
}

resource "terraform_data" "port" {
  input = "8080"
}

output "port" {
  value = terraform_data.port.output
}
