terraform {
  backend "local" {}
}

resource "terraform_data" "schedule" {
  input = "nightly"
}
