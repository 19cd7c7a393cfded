package jinja

// expr is a node of an expression.
type expr interface {
	eval(f *frame) (any, error)
	children(visit func(expr)) // calls visit for each direct subexpression, in source order
}

// signal describes how a statement ended.
type signal uint8

const (
	proceed signal = iota
	breakLoop
	continueLoop
)

// stmt is a node that writes output or changes variables.
type stmt interface {
	exec(f *frame) (signal, error)
}

// varRef is the location of a variable: a slot of the function that is hops levels outward.
type varRef struct{ hops, slot int }

type (
	constExpr struct{ value any }

	nameExpr struct {
		name    string
		ref     varRef
		unknown *undefined // value of the variable if the variable isn't set
	}

	tupleExpr struct{ items []expr }
	listExpr  struct{ items []expr }
	dictExpr  struct{ keys, values []expr }

	// attrExpr is object.name.
	attrExpr struct {
		object expr
		key    fixedKey
	}

	itemExpr struct{ object, key expr }

	// fieldExpr is object["name"].
	fieldExpr struct {
		object expr
		key    fixedKey
	}

	// sliceExpr is start:stop:step inside brackets; absent parts are nil.
	sliceExpr struct{ start, stop, step expr }

	callExpr struct {
		fn expr
		argList
	}

	// argList holds the arguments of a call, filter or test.
	argList struct {
		args   []expr
		fixed  []any // values of args if all are constants, otherwise nil; calls share them and don't change them
		kwargs []kwargExpr
		star   expr // *sequence
		stars  expr // **mapping
	}

	kwargExpr struct {
		name  string
		value expr
	}

	// filterExpr is input | name(args). input is nil in set and filter blocks, whose text is the
	// input.
	filterExpr struct {
		input expr
		name  string
		fn    filterFunc // nil for an unknown filter, which is an error when the filter runs
		argList
		line int
	}

	testExpr struct {
		input expr
		name  string
		fn    filterFunc
		argList
		line int
	}

	binaryExpr struct {
		op   tokenKind
		a, b expr
	}

	andExpr struct{ a, b expr }
	orExpr  struct{ a, b expr }
	notExpr struct{ a expr }

	unaryExpr struct {
		op tokenKind
		a  expr
	}

	concatExpr struct{ parts []expr }

	// compareExpr is a chain: first ops[0] rest[0] ops[1] rest[1] ...
	compareExpr struct {
		first expr
		ops   []tokenKind
		rest  []expr
	}

	// condExpr is the expression "yes if test else no". Its field no may be nil.
	condExpr struct{ test, yes, no expr }

	// blockText is the text of the enclosing set or filter block, the input of its filter.
	blockText struct{ ref varRef }
)

type (
	textStmt struct{ text string }

	printStmt struct {
		value expr
		line  int
	}

	ifStmt struct {
		line     int
		branches []ifBranch
		orElse   []stmt
	}

	ifBranch struct {
		line int
		test expr
		body []stmt
	}

	forStmt struct {
		line      int
		target    *target
		iter      expr
		test      expr
		recursive bool
		body      []stmt
		orElse    []stmt

		usesLoop         bool
		alike            bool // if the pass for the first character of a string has no effect, the other passes have none
		loopSlot         int
		scope, testScope scope
		elseScope        scope
		fn               *function // function of a recursive loop
		testTarget       *target
	}

	setStmt struct {
		line   int
		target *target
		value  expr
	}

	setBlockStmt struct {
		line     int
		target   *target
		filter   expr
		textSlot *blockText
		body     []stmt
		scope    scope
	}

	filterBlockStmt struct {
		line     int
		filter   expr
		textSlot *blockText
		body     []stmt
		scope    scope
	}

	withStmt struct {
		line    int
		targets []*target
		values  []expr
		body    []stmt
		scope   scope
	}

	macroStmt struct {
		line int
		def  *macroDef
		ref  varRef
	}

	// callBlockStmt is {% call %}. If call is nil it is {% generation %}, and its body is printed
	// in place.
	callBlockStmt struct {
		line int
		def  *macroDef
		call *callExpr
	}

	jumpStmt struct {
		line int
		how  signal
	}
)

// macroDef is a compiled macro, call block or generation block.
type macroDef struct {
	name     string
	line     int
	params   []*nameExpr
	defaults []expr // default values of the last parameters of params
	body     []stmt

	fn                                  *function
	callerSlot, kwargsSlot, varargsSlot int // slots of the variables of these names; -1 if the body doesn't use the variable
}

// target is the left side of an assignment: a name, an attribute of a namespace, or a tuple of
// targets.
type target struct {
	line  int
	name  string
	attr  string // the assigned attribute of the namespace called name; empty to assign a variable
	ref   varRef
	items []*target
}

func (t *target) isTuple() bool { return t.name == "" }

func visitAll(visit func(expr), list []expr) {
	for _, e := range list {
		visit(e)
	}
}

func visitGiven(visit func(expr), list ...expr) {
	for _, e := range list {
		if e != nil {
			visit(e)
		}
	}
}

func (a *argList) children(visit func(expr)) {
	visitAll(visit, a.args)
	for _, k := range a.kwargs {
		visit(k.value)
	}
	visitGiven(visit, a.star, a.stars)
}

func (*constExpr) children(func(expr))         {}
func (*nameExpr) children(func(expr))          {}
func (*blockText) children(func(expr))         {}
func (e *tupleExpr) children(visit func(expr)) { visitAll(visit, e.items) }
func (e *listExpr) children(visit func(expr))  { visitAll(visit, e.items) }
func (e *attrExpr) children(visit func(expr))  { visit(e.object) }
func (e *fieldExpr) children(visit func(expr)) { visit(e.object) }
func (e *itemExpr) children(visit func(expr))  { visitGiven(visit, e.object, e.key) }
func (e *sliceExpr) children(visit func(expr)) { visitGiven(visit, e.start, e.stop, e.step) }
func (e *binaryExpr) children(visit func(expr)) {
	visitGiven(visit, e.a, e.b)
}
func (e *andExpr) children(visit func(expr))    { visitGiven(visit, e.a, e.b) }
func (e *orExpr) children(visit func(expr))     { visitGiven(visit, e.a, e.b) }
func (e *notExpr) children(visit func(expr))    { visit(e.a) }
func (e *unaryExpr) children(visit func(expr))  { visit(e.a) }
func (e *concatExpr) children(visit func(expr)) { visitAll(visit, e.parts) }
func (e *condExpr) children(visit func(expr))   { visitGiven(visit, e.test, e.yes, e.no) }

func (e *compareExpr) children(visit func(expr)) {
	visit(e.first)
	visitAll(visit, e.rest)
}

func (e *dictExpr) children(visit func(expr)) {
	for i := range e.keys {
		visitGiven(visit, e.keys[i], e.values[i])
	}
}

func (e *callExpr) children(visit func(expr)) {
	visit(e.fn)
	e.argList.children(visit)
}

func (e *filterExpr) children(visit func(expr)) {
	visitGiven(visit, e.input)
	e.argList.children(visit)
}

func (e *testExpr) children(visit func(expr)) {
	visit(e.input)
	e.argList.children(visit)
}
