package forgetest

import "net/http"

// family is what Forgejo 11 and Gitea 1.26 do differently (test-peers, facts 1,
// 4 and 6).
type family struct {
	// headers are the families of header names of a delivery.
	headers []string
	// actions is the login of the account CI reports as.
	actions string
	// moved is the status of the redirect from a former name.
	moved int
	// fullTags: create and delete name a tag as refs/tags/x, and not as x.
	fullTags bool
	// statusEvent: a commit status is told of.
	statusEvent bool
	// skipped is the state of a job that was skipped.
	skipped string
	// flow: a pull request says how it was made.
	flow bool
}

func forgejo11() family {
	return family{
		headers: []string{"Forgejo", "Gitea", "Gogs", "GitHub"}, actions: "forgejo-actions",
		moved: http.StatusTemporaryRedirect, fullTags: true, skipped: "success", flow: true,
	}
}

func gitea126() family {
	return family{
		headers: []string{"Gitea", "Gogs", "GitHub"}, actions: "gitea-actions",
		moved: http.StatusMovedPermanently, statusEvent: true, skipped: "skipped",
	}
}
