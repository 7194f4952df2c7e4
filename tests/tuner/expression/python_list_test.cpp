// Python's lists, lambdas and functions in conditions. The expected values are what Python 3.11 gives.
#include "tuner/expression/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::map<std::string, Value, std::less<>> environment = {
    {"bx", std::int64_t{32}},  {"by", std::int64_t{8}}, {"bz", std::int64_t{1}},
    {"N", std::int64_t{4096}}, {"use", "yes"},          {"flag", true}};

std::string show(std::string_view text, Dialect dialect = Dialect::python) {
  const Result<Expression> expression = Expression::parse(text, dialect);
  if (!expression.ok())
    return "error: " + expression.error().sentence();
  const Result<Value> value = expression->evaluate([](std::string_view name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<Value>(found->second);
  });
  return value.ok() ? to_string(*value) : "error: " + value.error().sentence();
}

struct Case {
  std::string text, expected;
};

const Case cases[] = {
    {"lambda bx, by: bx * by <= 1024", "true"},
    {"lambda bx: bx", "32"},
    {"lambda: bx * by", "256"},
    {"lambda p: p[\"bx\"] * p['by'] <= 1024", "true"},
    {"lambda p: p.bx < 32", "false"},
    {"lambda bx, limit=1024: bx <= limit", "true"},
    {"params[\"bx\"] % 32 == 0", "true"},
    {"len([v for v in (bx, by, bz) if v > 1]) <= 2", "true"},
    {"len([v for v in (bx, by, bz) if v > 1])", "2"},
    {"len([bx, by])", "2"},
    {"sum([bx, by, bz])", "41"},
    {"sum(x > 1 for x in (bx, by, bz))", "2"},
    {"sum([flag])", "1"},
    {"sum([bx] + [by] * 2)", "48"},
    {"sum(range(5))", "10"},
    {"sum([], 3)", "3"},
    {"sum([bx], by)", "40"},
    {"sum(x for x in range(10) if x % 2)", "25"},
    {"sum([i * j for i in range(3) for j in range(i) if i != j])", "2"},
    {"sum([sum([i, j]) for i in [1, 2] for j in [10, 20]])", "66"},
    {"sum(x for x in [bx, by, bz] if x > 1 if x < 10)", "8"},
    {"any([bx > 1, by > 100])", "true"},
    {"any([])", "false"},
    {"all([])", "true"},
    {"all(bx % i == 0 for i in [1, 2, 4])", "true"},
    {"all(x > 1 for x in (bx, by, bz))", "false"},
    {"any(bx == 2**i for i in range(3, 6))", "true"},
    {"all(x % y == 0 for x, y in [(bx, by), (by, bz)])", "true"},
    {"all(t[0] > t[1] for t in [(bx, by), (by, bz)])", "true"},
    {"bx in [2**i for i in range(11)]", "true"},
    {"bx in range(16, 257, 16)", "true"},
    {"bx in range(16, 32)", "false"},
    {"bx + 1 in range(16, 257, 16)", "false"},
    {"bx not in range(by, bz)", "true"},
    {"bx in list(range(4)) + [32]", "true"},
    {"bx in {1, 32}", "true"},
    {"bx in [v for v in (bx, by) if v > 100]", "false"},
    {"0 < bx in (32, 64)", "true"},
    {"bx is not None", "true"},
    {"bx is None or bx > 3", "true"},
    {"bx != None and bx == 32", "true"},
    {"bx in (None, 32)", "true"},
    {"flag is True", "true"},
    {"flag is not False", "true"},
    {"(bx, by) in [(16, 16), (32, 8)]", "true"},
    {"(bx, by) not in [(16, 16), (32, 8)]", "false"},
    {"(bx, by) == (16, 2)", "false"},
    {"[bx, by] != [16, 2]", "true"},
    {"(bx, by) == (32, 8, 1)", "false"},
    {"0 < bz and (bx, by) == (32, 8)", "true"},
    {"min([bx, by]) > 0", "true"},
    {"max((bx, by))", "32"},
    {"max(x * 2 for x in (bx, by))", "64"},
    {"max(bx, by, bz)", "32"},
    {"len(set([bx, by, bz])) == 3", "true"},
    {"len({bx, by, 32})", "2"},
    {"len(set(x % 8 for x in (bx, by, bz)))", "2"},
    {"len(list(set([1, 1, 2])))", "2"},
    {"sum({by, 8, 8})", "8"},
    {"math.prod((bx, by))", "256"},
    {"np.prod([bx, by, bz]) <= 1024", "true"},
    {"math.log2(bx)", "5.0"},
    {"log2(bx) == int(log2(bx))", "true"},
    {"math.log2(bx + 1) % 1 == 0", "false"},
    {"math.log(bx, 2)", "5.0"},
    {"math.log10(N * 0 + 100)", "2.0"},
    {"math.sqrt(N)", "64.0"},
    {"math.ceil(bx / 5) * 5", "35"},
    {"math.exp(0)", "1.0"},
    {"math.isqrt(bx)", "5"},
    {"math.isqrt(9223372036854775807)", "3037000499"},
    {"math.lcm(6, 4)", "12"},
    {"math.lcm(0, 4)", "0"},
    {"math.gcd(bx, by)", "8"},
    {"math.trunc(-2.5)", "-2"},
    {"math.fabs(-2)", "2"},
    {"round(2.5)", "2"},
    {"round(3.5)", "4"},
    {"round(bx / by)", "4"},
    {"pow(bx, 2)", "1024"},
    {"bool(bx) and True", "true"},
    {"use == 'yes' if bx > 1 else use in ['no', 'maybe']", "true"},
    {"not (bx > 3 and by > 3) or bz == 1", "true"},
    {"bx ** 2 // 3 % 5", "1"},
    {"-bx // by", "-4"},
};

TEST(PythonLists, MeanWhatTheyMeanInPython) {
  for (const Case& test : cases)
    EXPECT_EQ(show(test.text), test.expected) << test.text;
}

TEST(PythonLists, ReportWhatAndWhere) {
  const Case refused[] = {
      {"lambda *args: True", "column 8: expected a parameter of the lambda"},
      {"bx > (lambda x: x)", "column 7: expected a value, found \"lambda\""},
      {"bx[0] > 1", "column 4: \"bx\" holds nothing of that kind"},
      {"bx.bit_length() < 3", "there is no function \"bx.bit_length\""},
      {"isinstance(bx, int)", "there is no function \"isinstance\""},
      {"str(bx) == '3'", "there is no function \"str\""},
      {"{1: 2}[bx] == 1", "column 2: a dict cannot stand here"},
      {"[1, 2][bx]", "column 7: a member of a list cannot be picked here"},
      {"min([])", "min of an empty list"},
      {"max([v for v in (bx, by) if v > 3])", "max of a list whose members depend on a condition"},
      {"sum(bx)", "column 5: after sum( there must be a list such as [a, b]"},
      {"len('abc')", "column 5: after len( there must be a list"},
      {"bx in by", "column 7: expected a list such as [1, 2], found \"by\""},
      {"[1, 2] < [3]", "lists have no order here"},
      {"[1, 2] + 1", "expected a list"},
      {"1 + [1, 2]", "a list may stand only"},
      {"bx == 3 if [bx] else 1", "a list may stand only"},
      {"None", "None can stand only"},
      {"sum(x for x in range(bx))", "the bounds of this range must be integers"},
      {"bx in range(1, 9, by)", "the step of this range must be a positive integer"},
      {"all(x for x in zip([bx], [by]))", "expected a list such as [1, 2], found \"zip\""},
      {"sum([1, 2)", "expected"},
      {"sum([x for x in [1])", "expected"},
      {"sum(for x in [1])", "a value before for"},
      {"any(x > y for x, y in [bx, by])", "2 variables need lists of as many members"},
      {"sum(x for in [1])", "a variable after for"},
      {"sum(x for x [1])", "expected in"},
      {"round(bx, 2)", "round takes 1 arguments, not 2"},
      {"f'{bx}'", "expected an operator or the end"},
      {"sum([1] * bx)", "must be a number here"},
      {"math.sqrt(0 - bx)", "the square root of -32"},
      {"math.log(bz - 1)", "the logarithm of 0"},
      {"math.log(bx, 1)", "a logarithm to the base 1"},
      {"math.lcm(9223372036854775807, 2)", "does not fit 64 bits"},
  };
  for (const Case& test : refused)
    EXPECT_THAT(show(test.text), HasSubstr(test.expected)) << test.text;
}

TEST(PythonLists, VariablesAreNoNames) {
  EXPECT_THAT(Expression::parse("any(bx % i == 0 for i in [by, 3])", Dialect::python)->names(),
              ElementsAre("by", "bx"));
  EXPECT_THAT(Expression::parse("lambda p: p['bx'] + p.by", Dialect::python)->names(),
              ElementsAre("bx", "by"));
  EXPECT_THAT(Expression::parse("sum(i for i in [1, 2]) + i", Dialect::python)->names(), ElementsAre("i"));
}

TEST(PythonLists, LathesDialectKeepsItsFunctions) {
  EXPECT_EQ(show("log2(bx)", Dialect::lathe), "5");
  EXPECT_EQ(show("sum([bx, by]) / 3", Dialect::lathe), "13");
  EXPECT_THAT(show("sqrt(bx)", Dialect::lathe), HasSubstr("there is no function"));
  EXPECT_THAT(show("p['bx']", Dialect::lathe), HasSubstr("expected an operator"));
}

TEST(PythonLists, BoundTheirWork) {
  EXPECT_THAT(show("len([1] * 9223372036854775807)"), HasSubstr("too long"));
  EXPECT_THAT(show("len(range(9223372036854775807))"), HasSubstr("too long"));
  EXPECT_THAT(show("len([i for i in range(9999) for j in range(9999) if j < 0])"),
              HasSubstr("too many steps"));
  std::string doubled = "bx";
  for (int i = 0; i < 60; ++i)
    doubled = "sum([x + x for x in [" + doubled + "]])";
  EXPECT_THAT(show(doubled), HasSubstr("error"));
  std::string nested;
  for (int i = 0; i < 50'000; ++i)
    nested += "sum([";
  EXPECT_THAT(show(nested), HasSubstr("error"));
}

// Every text above with tokens left out, doubled and exchanged.
TEST(PythonLists, SurviveMutation) {
  std::mt19937_64 random(4);
  const Lookup lookup = [](std::string_view name) {
    return name.size() == 2 ? std::optional<Value>(std::int64_t{3}) : std::nullopt;
  };
  for (const Case& test : cases)
    for (int round = 0; round < 60; ++round) {
      std::string text = test.text;
      for (std::size_t edits = random() % 3 + 1; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size(), length = random() % 4 + 1;
        switch (random() % 3) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          std::swap(text[at], text[random() % text.size()]);
        }
      }
      for (const Dialect dialect : {Dialect::python, Dialect::lathe}) {
        const Result<Expression> expression = Expression::parse(text, dialect);
        if (expression.ok())
          (void)expression->evaluate(lookup).ok();
        else
          EXPECT_FALSE(expression.error().why.empty()) << text;
      }
    }
}

} // namespace
} // namespace lathe
