terraform {
  backend "local" {}
}

variable "cidr" {
  type = string
}

resource "terraform_data" "service" {
  input = "listens in ${var.cidr}"
}

output "address" {
  value = terraform_data.service.output
}
