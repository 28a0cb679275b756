// Package jexl parses and evaluates the arithmetic of expressions, as Apache Commons JEXL 2.1.1 does
// for a TSD: numbers, variables, + - * / %, comparisons, logic, bits, ?: and parentheses, with its
// types and its coercions between them. Variables are floats.
//
// What does more than compute is refused: calls, constructors, properties, assignments, loops, text.
// An expression is bounded in its length and its depth, and its evaluation takes as many steps as it
// has operators at most.
package jexl
