package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// subjectBase is the last commit whose subject isn't checked.
const subjectBase = "77d7349763e56334bfe678be55b2b87ea5dab035"

// longestSubject is the maximum number of characters of a subject.
const longestSubject = 100

// checkSubjects returns a line for each bad subject of the commits after subjectBase.
func checkSubjects(ctx context.Context, root string, out io.Writer) ([]string, error) {
	if _, err := git(ctx, root, "merge-base", "--is-ancestor", subjectBase, "HEAD"); err != nil {
		printf(out, "words: commit subjects skipped: this clone doesn't have commit %.8s below HEAD\n", subjectBase)
		return nil, nil //nolint:nilerr // a shallow clone, whose subjects a full clone checks
	}
	log, err := git(ctx, root, "log", "--no-merges", "--format=%h %s", subjectBase+"..HEAD")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(log) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if problem := subjectProblem(subject); problem != "" {
			found = append(found, fmt.Sprintf("%s: commit-subject: %s: «%s»", hash, problem, subject))
		}
	}
	return found, nil
}

var subjectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9./_-]*(?:, [a-z0-9][a-z0-9./_-]*)*: (\S+)(?: .*)?$`)

// subjectProblem returns why a subject isn't `area: imperative`, or "".
func subjectProblem(subject string) string {
	if strings.HasPrefix(subject, `Revert "`) {
		return ""
	}
	m := subjectForm.FindStringSubmatch(subject)
	switch {
	case m == nil:
		return "write `area: imperative`, with packages, folders or topics in lower case as the area"
	case utf8.RuneCountInString(subject) > longestSubject:
		return fmt.Sprintf("%d characters: shorten it to %d", utf8.RuneCountInString(subject), longestSubject)
	case strings.HasSuffix(subject, "."):
		return "end the subject without a period"
	case regexp.MustCompile(`^[A-Z][a-z]`).MatchString(m[1]):
		return "begin in lower case after the area"
	case !imperative(m[1]):
		return fmt.Sprintf("%q is not an imperative: write \"add\", not \"adds\", \"added\" or \"adding\"", m[1])
	}
	return ""
}

var otherForm = regexp.MustCompile(`^(?:[a-z]+(?:ing|ed|[^su]s)|the|an?|no|now|new)$`)

// imperative reports whether a word may be an imperative: it doesn't have the ending of another
// form.
func imperative(first string) bool {
	similar := []string{"bring", "embed", "exceed", "feed", "need", "ping", "proceed", "ring", "seed", "shed", "speed", "string"}
	return slices.Contains(similar, first) || !otherForm.MatchString(first)
}
