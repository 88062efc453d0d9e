terraform {
  backend "local" {}
}

# Where the machine has its volumes attached.
variable "volumes" {
  type = string
}

resource "terraform_data" "volume" {
  input = "data-1"
}

resource "terraform_data" "database" {
  input = "kept on ${terraform_data.volume.output}"

  # Known only once the volume is there, so the plan can't tell.
  lifecycle {
    precondition {
      condition     = fileexists("${var.volumes}/${terraform_data.volume.output}/attached")
      error_message = "Volume ${terraform_data.volume.output} is not attached to the machine. Attach it, then apply again."
    }
  }
}
