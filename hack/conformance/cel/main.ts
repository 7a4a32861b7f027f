import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mapConcurrently } from '../../../packages/apimachinery/src/index.ts';
import { exceptionFor } from '../../../packages/schema/test/expression-exceptions.ts';
import { Random } from '../random.ts';
import { comparedServers, serverFlags, serverUsage } from '../compared-servers.ts';
import { ExpressionGenerator } from './generator.ts';
import { ServerAnswers, type Fixture, type ServerAnswer } from './server-answers.ts';

const fixturePath = join(import.meta.dirname, '../../../packages/schema/test/recorded-cel/fixture.json');

const usage = `Evaluates generated expressions of CEL on two servers, in rules of definitions, in validating and in mutating policies, and
reports what they answer differently: the value, the error, and whether the cost is too high.

Usage: hack/conformance/cel/run [compare | print] [flags]

  print                writes the expressions, one JSON text a line; packages/schema/test/recorded-cel has their fixture
                       and what cel-go answers to some of them
${serverUsage}
  --seed TEXT          the expressions are derived from it (1)
  --rounds N           calls of each function, operator and macro (1)
  --most N             at most so many expressions (1000000)
  --skip N             without the first N
  --parallel N         definitions and policies at the same time (4)
  --in PLACE           only in ofRules, ofPolicies, ofJSONPatches or ofApplyConfigurations; may be repeated

The exit status is 0 when nothing differs but what docs/compatibility.md lists.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    ...serverFlags,
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '1' },
    most: { type: 'string', default: '1000000' },
    skip: { type: 'string', default: '0' },
    parallel: { type: 'string', default: '4' },
    in: { type: 'string', multiple: true },
  },
});

/** Rules of one definition; warnings of one answer, of which a server writes no more than 4 KiB. */
const perDefinition = 40;
const perPolicy = 8;

interface Batch {
  readonly kind: 'ofRules' | 'ofPolicies' | 'ofJSONPatches' | 'ofApplyConfigurations';
  readonly expressions: readonly string[];
}

function* batchesOf(kind: Batch['kind'], expressions: readonly string[], size: number): Generator<Batch> {
  for (let start = 0; start < expressions.length; start += size)
    yield { kind, expressions: expressions.slice(start, start + size) };
}

/**
 * Syntax errors have the words of the parser; the type of `self` has a name of its own in each definition. Messages of protobuf have
 * spaces that differ between builds.
 */
const comparable = (answer: ServerAnswer): string =>
  answer.includes('Syntax error')
    ? 'syntax error'
    : answer
        .replaceAll(/selfType\d*/g, 'selfType')
        .replaceAll(/#\d+#\]?/g, '#')
        .replaceAll('\u00a0', ' ');

/** A server may close the connection while it compiles an expression: the others are asked for without it. */
async function answersOf(
  server: ServerAnswers,
  kind: Batch['kind'],
  expressions: readonly string[],
  run: string,
): Promise<readonly ServerAnswer[]> {
  try {
    return await server[kind](expressions, run);
  } catch (error) {
    if (expressions.length === 1) return [`internal error: no answer: ${(error as Error).message}`];
    const middle = Math.ceil(expressions.length / 2);
    return [
      ...(await answersOf(server, kind, expressions.slice(0, middle), `${run}a`)),
      ...(await answersOf(server, kind, expressions.slice(middle), `${run}b`)),
    ];
  }
}

/** Whether the reference answers otherwise when it is asked again: it walks over maps in random order. */
async function isUnstable(
  reference: ServerAnswers,
  kind: Batch['kind'],
  expression: string,
  answer: ServerAnswer,
  run: string,
): Promise<boolean> {
  for (let attempt = 0; attempt < 4; attempt++) {
    const [again] = await answersOf(reference, kind, [expression], `${run}-${attempt}`);
    if (comparable(again as string) !== comparable(answer)) return true;
  }
  return false;
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const generated = [...new Set(new ExpressionGenerator(new Random(values.seed)).expressions(Number(values.rounds)))];
  const expressions = generated.slice(Number(values.skip), Number(values.skip) + Number(values.most));
  if (positionals[0] === 'print') {
    for (const expression of expressions) console.log(JSON.stringify(expression));
    return 0;
  }
  const fixture = JSON.parse(readFileSync(fixturePath, 'utf8')) as Fixture;
  const servers = comparedServers(values);
  const reference = new ServerAnswers(servers.reference, fixture);
  const subject = new ServerAnswers(servers.subject, fixture);
  await Promise.all([reference.prepare(), subject.prepare()]);
  const ofSelf = /\b(?:self|oldSelf)\b/;
  const ofObject = /(?<![.'"])\bobject\b/;
  const ofRules = expressions.filter((expression) => !ofObject.test(expression));
  const ofPolicies = expressions.filter((expression) => !ofSelf.test(expression));
  const batches = [
    ...batchesOf('ofRules', ofRules, perDefinition),
    ...batchesOf('ofPolicies', ofPolicies, perPolicy),
    ...batchesOf('ofJSONPatches', ofPolicies, perPolicy),
    ...batchesOf('ofApplyConfigurations', ofPolicies, perPolicy),
  ].filter(({ kind }) => values.in?.includes(kind) ?? true);
  const counts = { same: 0, listed: 0, unstable: 0, different: 0 };
  const started = Date.now();
  await mapConcurrently(
    [...batches.entries()],
    Number(values.parallel),
    async ([index, { kind, expressions: own }]) => {
      const run = `r${started}-${index}`;
      const [wanted, given] = await Promise.all([
        answersOf(reference, kind, own, run),
        answersOf(subject, kind, own, run),
      ]);
      for (const [at, expression] of own.entries()) {
        const [right, here] = [wanted[at] as string, given[at] as string];
        if (comparable(right) === comparable(here)) counts.same++;
        else if (exceptionFor(expression, right.replace(/^error: /, '')) !== undefined) counts.listed++;
        else if (await isUnstable(reference, kind, expression, right, `${run}-${at}`)) counts.unstable++;
        else {
          counts.different++;
          console.log(`${kind} ${JSON.stringify(expression)}\n  reference ${right}\n  subject   ${here}`);
        }
      }
    },
  );
  console.log(
    `${counts.same} the same, ${counts.listed} listed in docs/compatibility.md, ${counts.unstable} unstable, ${counts.different} different`,
  );
  for (const transport of Object.values(servers)) transport.close();
  return counts.different === 0 ? 0 : 1;
}

process.exitCode = await main();
