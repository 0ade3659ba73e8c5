package graph_test

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"feedgate/graph"
)

func TestEverythingInTheSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	builtin := map[string]bool{"Int": true, "Float": true, "String": true, "Boolean": true, "ID": true}
	types := 0
	describe := func(what, description string) {
		t.Helper()
		if strings.TrimSpace(description) == "" {
			t.Errorf("%s has no description", what)
		}
	}
	arguments := func(of string, args ast.ArgumentDefinitionList) {
		t.Helper()
		for _, a := range args {
			describe(of+"("+a.Name+":)", a.Description)
		}
	}
	for name, def := range schema.Types {
		if strings.HasPrefix(name, "__") || builtin[name] {
			continue
		}
		types++
		describe(name, def.Description)
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			describe(name+"."+f.Name, f.Description)
			arguments(name+"."+f.Name, f.Arguments)
		}
		for _, v := range def.EnumValues {
			describe(name+"."+v.Name, v.Description)
		}
	}
	if types < 30 {
		t.Errorf("looked at %d types, want the whole schema", types)
	}
}

func TestMutationsTakeOneInputAndReturnAPayload(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	for _, f := range schema.Mutation.Fields {
		upper := strings.ToUpper(f.Name[:1]) + f.Name[1:]
		bare := f.Name == "markNoticesSeen" // there is nothing to say
		if bare && len(f.Arguments) != 0 || !bare && (len(f.Arguments) != 1 || f.Arguments[0].Name != "input" || f.Arguments[0].Type.String() != upper+"Input!") {
			t.Errorf("%s does not take one input of type %sInput!", f.Name, upper)
		}
		if f.Type.String() != upper+"Payload!" {
			t.Errorf("%s returns %s, want %sPayload!", f.Name, f.Type, upper)
		}
	}
}

func TestConnectionsHaveTheSameShape(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	seen := 0
	for name, def := range schema.Types {
		stem, ok := strings.CutSuffix(name, "Connection")
		if !ok {
			continue
		}
		seen++
		edge := schema.Types[stem+"Edge"]
		if edge == nil {
			t.Errorf("%s has no type %sEdge", name, stem)
			continue
		}
		want := map[string]string{"edges": "[" + edge.Name + "!]!", "pageInfo": "PageInfo!"}
		for field, typ := range want {
			if f := def.Fields.ForName(field); f == nil || f.Type.String() != typ {
				t.Errorf("%s.%s is not a %s", name, field, typ)
			}
		}
		if f := edge.Fields.ForName("cursor"); f == nil || f.Type.String() != "String!" {
			t.Errorf("%s.cursor is not a String!", edge.Name)
		}
		node := edge.Fields.ForName("node")
		if node == nil || node.Type.NonNull {
			t.Errorf("%s.node is not nullable", edge.Name)
			continue
		}
		if f := def.Fields.ForName("nodes"); f == nil || f.Type.String() != "["+node.Type.Name()+"]!" {
			t.Errorf("%s.nodes is not a [%s]!", name, node.Type.Name())
		}
	}
	if seen != 7 {
		t.Errorf("found %d connections, want 7", seen)
	}
}
