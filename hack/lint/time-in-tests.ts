/**
 * Rules of oxlint that find tests whose result depends on the speed of the machine; `.oxlintrc.json` applies them to the tests of
 * the packages. A test that has to wait for real time, because a socket, a thread or a process is involved, disables the
 * rule with a comment that names what it waits for.
 */

/** Of a node of the syntax tree, as far as it is read here. */
interface Node {
  readonly type: string;
  readonly parent?: Node | null | undefined;
  readonly [property: string]: unknown;
}
interface Context {
  report(problem: { readonly node: Node; readonly message: string }): void;
}
type Visitor = Readonly<Record<string, (node: Node) => void>>;
interface Rule {
  create(context: Context): Visitor;
}

const realTimers = new Set(['setTimeout', 'setInterval', 'setImmediate']);
const timerModules = new Set(['timers', 'node:timers', 'timers/promises', 'node:timers/promises']);

const noRealTimers: Rule = {
  create(context) {
    const message =
      'real timers make a test depend on the speed of the machine: advance a FakeClock, await eventLoopIdle(), or poll with eventually()';
    return {
      ImportDeclaration(node) {
        if (timerModules.has(String((node['source'] as Node)['value']))) context.report({ node, message });
      },
      Identifier(node) {
        if (realTimers.has(nameOf(node)) && isGlobal(node)) context.report({ node, message });
      },
    };
  },
};

/** `setTimeout` and `globalThis.setTimeout`, but not `{ setTimeout: … }`, `socket.setTimeout` and imports of it. */
function isGlobal(node: Node): boolean {
  const { parent } = node;
  if (parent == null) return true;
  if (parent.type === 'MemberExpression' && parent['property'] === node && parent['computed'] !== true)
    return nameOf(parent['object'] as Node) === 'globalThis';
  // The module of an EventLoopScheduler is real: it runs what is ready, and does not wait for time.
  if (parent.type === 'Property' && nameOf(parent['key'] as Node) === 'schedule') return false;
  if (parent.type === 'Property' && parent['key'] === node) return parent['shorthand'] === true;
  return !parent.type.startsWith('Import');
}

/** What advances or waits by the time of the machine. */
const realTime = new Map([
  ['systemClock', 'a test with a fake clock has no other one'],
  ['eventLoopScheduler', 'use the scheduler of the fake clock, which advances with it'],
  ['lowPriorityQueue', 'use a TimeSlicedQueue of the scheduler of the fake clock, which advances with it'],
  ['EventLoopScheduler', 'use the scheduler of the fake clock, which advances with it'],
  ['eventually', 'what a fake clock causes has happened when advance() returns; only advance() can cause it'],
]);
const fakes = new Set(['FakeClock', 'advanceUntilIdle']);

const fakeClockWithRealTime: Rule = {
  create(context) {
    let hasFakeClock = false;
    const uses: { node: Node; message: string }[] = [];
    return {
      ImportSpecifier(node) {
        if (fakes.has(nameOf(node['imported'] as Node))) hasFakeClock = true;
      },
      CallExpression(node) {
        const callee = node['callee'] as Node;
        // A fake clock that a fixture has made.
        if (isMember(callee, 'advance') && /(^|\.)clock$/i.test(textOf(callee['object'] as Node))) hasFakeClock = true;
        const message = realTime.get(nameOf(callee));
        if (message !== undefined) uses.push({ node, message });
      },
      NewExpression(node) {
        const message = realTime.get(nameOf(node['callee'] as Node));
        if (message !== undefined) uses.push({ node, message });
      },
      Identifier(node) {
        if (node.parent?.type.startsWith('Import') === true || isCalled(node)) return;
        const message = realTime.get(nameOf(node));
        if (message !== undefined && isReference(node)) uses.push({ node, message });
      },
      'Program:exit'() {
        if (hasFakeClock) for (const use of uses) context.report(use);
      },
    };
  },
};

const noTimedExpectations: Rule = {
  create(context) {
    return {
      CallExpression(node) {
        if (!isRealTimeRead(node['callee'] as Node)) return;
        for (let outer = node.parent; outer != null; outer = outer.parent) {
          if (outer.type === 'CallExpression' && isExpectation(outer)) {
            const message =
              'an expectation about real time depends on the speed of the machine: count work, or read a FakeClock';
            context.report({ node: outer, message });
            return;
          }
          if (outer.type.includes('Function')) return;
        }
      },
    };
  },
};

const isRealTimeRead = (callee: Node): boolean => /^(performance\.now|Date\.now|process\.hrtime)/.test(textOf(callee));

/** `expect(…)` and `expect(…).not.toBe(…)`. */
function isExpectation({ callee }: Node): boolean {
  let inner = callee as Node;
  while (inner.type === 'MemberExpression' || inner.type === 'CallExpression')
    inner = (inner['object'] ?? inner['callee']) as Node;
  return nameOf(inner) === 'expect';
}

const isMember = (node: Node, property: string): boolean =>
  node.type === 'MemberExpression' && nameOf(node['property'] as Node) === property;
const isCalled = ({ parent, ...node }: Node): boolean =>
  (parent?.type === 'CallExpression' || parent?.type === 'NewExpression') &&
  (parent['callee'] as Node)['start'] === node['start'];
const isReference = (node: Node): boolean =>
  !(node.parent?.type === 'MemberExpression' && node.parent['property'] === node) &&
  !(node.parent?.type === 'Property' && node.parent['key'] === node && node.parent['shorthand'] !== true);
const nameOf = (node: Node): string => (node.type === 'Identifier' ? String(node['name']) : '');
/** `a.b.c` of a chain of names. */
function textOf(node: Node): string {
  if (node.type !== 'MemberExpression') return nameOf(node);
  return `${textOf(node['object'] as Node)}.${nameOf(node['property'] as Node)}`;
}

// oxlint-disable-next-line import/no-default-export -- oxlint looks for it
export default {
  meta: { name: 'tests' },
  rules: {
    'no-real-timers': noRealTimers,
    'no-real-time-with-fake-clock': fakeClockWithRealTime,
    'no-timed-expectations': noTimedExpectations,
  },
};
