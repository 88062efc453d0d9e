terraform {
  backend "local" {}
}

variable "zone" {
  type = string
}

resource "terraform_data" "certificate" {
  input = "for *.${var.zone}"
}
