terraform {
  backend "local" {}
}

variable "port" {
  type = string
}

resource "terraform_data" "listener" {
  input = "sends 443 to ${var.port}"
}
