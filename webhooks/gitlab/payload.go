package gitlab

import (
	"cmp"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// payload is the union of what we read of any event; what an event does not
// carry stays zero. Shas, texts and states in it only say where to look again.
type payload struct {
	Kind, Ref, Before, After string

	ProjectID  int64
	Project    project
	Repository string // address to clone it over ssh
	UserID     int64
	UserName   string
	Attributes attributes
	Change     int // iid of the merge request a note is on
	JobSHA     string
	JobStatus  string

	// What an update changed, whatever the old value was.
	TargetChanged, TitleChanged, DraftChanged, WIPChanged decode.Present
}

type project struct {
	ID   int64
	Path string // with its namespace
}

// attributes are those of the object that the event is about.
type attributes struct {
	ID, AuthorID, SourceProject, TargetProject int64

	IID                              int
	Action, OldRev, CommitID, Target string
	Ref, SHA, Status, LastCommit     string
	Internal, System                 bool
}

// member is where a member of the body goes, nil for one we do not want.
func (p *payload) member(name string) any {
	switch name {
	case "ref":
		return &p.Ref
	case "before":
		return &p.Before
	case "after":
		return &p.After
	case "sha":
		return &p.JobSHA
	case "build_status":
		return &p.JobStatus
	case "object_attributes":
		a := &p.Attributes
		return decode.Wanted{
			"id": &a.ID, "iid": &a.IID, "action": &a.Action, "author_id": &a.AuthorID,
			"oldrev": &a.OldRev, "source_project_id": &a.SourceProject, "target_project_id": &a.TargetProject,
			"last_commit":   decode.Wanted{"id": &a.LastCommit},
			"noteable_type": &a.Target, "commit_id": &a.CommitID, "internal": &a.Internal, "system": &a.System, //nolint:misspell // GitLab's word
			"ref": &a.Ref, "sha": &a.SHA, "status": &a.Status,
		}
	case "merge_request":
		return decode.Wanted{"iid": &p.Change}
	case "changes":
		return decode.Wanted{
			"target_branch": &p.TargetChanged, "title": &p.TitleChanged,
			"draft": &p.DraftChanged, "work_in_progress": &p.WIPChanged,
		}
	}
	return p.place(name)
}

// place is member for an event we do not use: where it happened and who did it.
// Its other members may hold anything.
func (p *payload) place(name string) any {
	switch name {
	case "object_kind":
		return &p.Kind
	case "project_id":
		return &p.ProjectID
	case "project":
		return decode.Wanted{"id": &p.Project.ID, "path_with_namespace": &p.Project.Path}
	case "repository":
		return decode.Wanted{"git_ssh_url": &p.Repository}
	case "user":
		return decode.Wanted{"id": &p.UserID, "username": &p.UserName}
	case "user_id":
		return &p.UserID
	case "user_username":
		return &p.UserName
	}
	return nil
}

// repo is the project, the zero value for an event of none. Not every version
// and event puts its id and its path in the same place.
func (p *payload) repo(instance engine.Instance) engine.Repo {
	path := cmp.Or(p.Project.Path, clonedFrom(p.Repository))
	slash := strings.LastIndexByte(path, '/')
	id := cmp.Or(p.Project.ID, p.ProjectID, p.Attributes.TargetProject)
	if id == 0 || slash <= 0 || slash == len(path)-1 {
		return engine.Repo{}
	}
	return engine.Repo{Instance: instance, ID: id, Owner: path[:slash], Name: path[slash+1:]}
}

// clonedFrom is the path in git@host:group/project.git and in
// ssh://git@host:22/group/project.git: of the addresses of a project the ones
// that never begin with the path of the instance.
func clonedFrom(address string) string {
	if rest, ok := strings.CutPrefix(address, "ssh://"); ok {
		_, address, _ = strings.Cut(rest, "/")
	} else {
		_, address, _ = strings.Cut(address, ":")
	}
	return strings.TrimSuffix(address, ".git")
}

// moved reports an update of the head, the target branch or the draft state.
// Whether the title was that of a draft only the instance knows.
func (p *payload) moved() bool {
	return p.Attributes.OldRev != "" || bool(p.TargetChanged || p.TitleChanged || p.DraftChanged || p.WIPChanged)
}
