import { describe, expect, test } from '@jest/globals';
import type { QuickstartFlags } from './quickstart-scenario.ts';
import { randomTree, type TreeNode } from './quickstart-workspaces.ts';
import { scenarioOf } from './quickstart.ts';

const flags: QuickstartFlags = {
  scenario: 'api-provider',
  namePrefix: 'quickstart',
  timeoutMs: 1000,
  treeDepth: 3,
  treeCount: 50,
  treeSeed: 1,
};

describe('random tree', () => {
  const tree = (seed: number): TreeNode[] => randomTree({ prefix: 'q', count: 200, depth: 3, seed });

  test('has the given number of workspaces and maximum depth, parents first', () => {
    const nodes = tree(7);
    expect(nodes).toHaveLength(201);
    for (const [index, { depth, parent }] of nodes.entries()) {
      if (index === 0) continue;
      expect(parent).toBeLessThan(index);
      expect(depth).toBe((nodes[parent] as TreeNode).depth + 1);
    }
    expect(Math.max(...nodes.map(({ depth }) => depth))).toBe(3);
    expect(new Set(nodes.map(({ name }) => name)).size).toBe(201);
  });

  test('is deterministic for a seed, and differs between seeds', () => {
    expect(tree(7)).toEqual(tree(7));
    expect(tree(7)).not.toEqual(tree(8));
  });
});

describe('scenario', () => {
  test.each<[Partial<QuickstartFlags>, string]>([
    [{ scenario: 'nope' }, 'unknown scenario "nope", available: [api-provider workspaces]'],
    [{ scenario: '__proto__' }, 'unknown scenario "__proto__"'],
    [{ namePrefix: '' }, '--name-prefix must not be empty'],
    [{ namePrefix: 'Q' }, '--name-prefix "Q" produces invalid workspace name "Q-org": [a lowercase RFC 1123 label'],
    [{ namePrefix: 'x'.repeat(55) }, 'produces invalid workspace name'],
    [{ scenario: 'workspaces', treeDepth: 0 }, '--tree-depth must be >= 1, got 0'],
    [{ scenario: 'workspaces', treeCount: -1 }, '--tree-count must be >= 0, got -1'],
  ])('with %j is refused', (change, message) => {
    expect(() => scenarioOf({ ...flags, ...change })).toThrow(message);
  });

  test('describes its workspaces', () => {
    expect(scenarioOf(flags).steps.map(({ description }) => description)).toEqual([
      'Creating organization workspace "quickstart-org"',
      'Creating service provider workspace "quickstart-provider"',
      'Applying APIResourceSchema',
      'Applying APIExport',
      'Creating consumer workspace "quickstart-consumer"',
      'Creating APIBinding in consumer workspace',
    ]);
    expect(scenarioOf({ ...flags, scenario: 'workspaces' }).steps.at(-1)?.description).toBe(
      'Creating 50 workspaces (max depth 3, seed 1)',
    );
  });
});
