import { ensureWorkspace, ensureWorkspaceAndReport } from './quickstart-workspace.ts';
import {
  organizationName,
  type QuickstartContext,
  type QuickstartFlags,
  type Scenario,
} from './quickstart-scenario.ts';

const progressEvery = 25;
/** Workspaces that are created concurrently. */
const concurrency = 8;

/** A workspace of the tree, whose root is the organization at depth 0. */
export interface TreeNode {
  readonly name: string;
  readonly depth: number;
  /** Index of the parent in the list; that of the organization is its own. */
  readonly parent: number;
}

/** A random tree, deterministic for a seed. Parents precede their children. */
export function randomTree(options: {
  readonly prefix: string;
  readonly count: number;
  readonly depth: number;
  readonly seed: number;
}): TreeNode[] {
  const random = generator(options.seed);
  const nodes: TreeNode[] = [{ name: organizationName(options.prefix), depth: 0, parent: 0 }];
  const open = [0];
  for (let number = 1; number <= options.count; number++) {
    const parent = open[Math.floor(random() * open.length)] as number;
    const depth = (nodes[parent] as TreeNode).depth + 1;
    nodes.push({ name: childName(options.prefix, number), depth, parent });
    if (depth < options.depth) open.push(number);
  }
  return nodes;
}

const childName = (prefix: string, number: number): string => `${prefix}-ws-${number}`;

/** An organization with a random tree of workspaces, for load tests. */
export function workspacesScenario(flags: QuickstartFlags): Scenario {
  const { namePrefix: prefix, treeDepth: depth, treeCount: count } = flags;
  if (!Number.isSafeInteger(depth) || depth < 1) throw new Error(`--tree-depth must be >= 1, got ${depth}`);
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`--tree-count must be >= 0, got ${count}`);
  const org = organizationName(prefix);
  const seed = flags.treeSeed === 0 ? Date.now() : flags.treeSeed;
  return {
    name: 'workspaces',
    workspaceNames: [org, ...(count > 0 ? [childName(prefix, count)] : [])],
    cascades: `${count} child workspaces`,
    steps: [
      {
        description: `Creating organization workspace ${JSON.stringify(org)}`,
        run: async (context) => {
          context.paths.org = await ensureWorkspaceAndReport(
            { parent: 'root', name: org, type: 'organization', prefix },
            context,
          );
        },
      },
      {
        description: `Creating ${count} workspaces (max depth ${depth}, seed ${seed})`,
        run: (context) => createTree(randomTree({ prefix, count, depth, seed }), prefix, context),
      },
    ],
    samples: [],
    entry: (paths) => paths.org,
    summary: (paths) => `  Workspace hierarchy:
    root
    +-- ${org} (organization)
        +-- ${count} child workspaces in a random tree (max depth ${depth}, seed ${seed})

  Org path: ${paths.org ?? ''}

  Explore:
    kubectl ws :${paths.org ?? ''}
    kubectl get workspaces

  Cleanup:
    kubectl kcp quickstart --scenario workspaces --cleanup --name-prefix ${prefix}`,
  };
}

/** Creates the workspaces concurrently, each once its parent exists. */
async function createTree(nodes: readonly TreeNode[], prefix: string, context: QuickstartContext): Promise<void> {
  const { out } = context.modules;
  if (nodes.length <= 1) return out('  No child workspaces to create (count=0)');
  const start = performance.now();
  const paths: Promise<string>[] = [Promise.resolve(context.paths.org ?? '')];
  let [created, deepest, next] = [0, 0, 1];
  const settle: ((path: string) => void)[] = [];
  for (let index = 1; index < nodes.length; index++)
    paths.push(new Promise<string>((resolve) => (settle[index] = resolve)));

  // Parents precede their children in the list, so the workspace that a worker waits for is already in progress.
  const work = async (): Promise<void> => {
    while (next < nodes.length) {
      const index = next++;
      const { name, depth, parent } = nodes[index] as TreeNode;
      const parentPath = await (paths[parent] as Promise<string>);
      try {
        const { path } = await ensureWorkspace({ parent: parentPath, name, type: 'universal', prefix }, context);
        settle[index]?.(path);
      } catch (error) {
        throw new Error(
          `creating workspace ${index}/${nodes.length - 1} (${JSON.stringify(name)} at depth ${depth} under ${parentPath}): ${(error as Error).message}`,
          { cause: error },
        );
      }
      created++;
      deepest = Math.max(deepest, depth);
      if (created % progressEvery === 0 || created === nodes.length - 1) {
        const rate = (created / ((performance.now() - start) / 1000)).toFixed(1);
        out(`  Progress: ${created}/${nodes.length - 1} workspaces created (${rate} ws/s, depth so far: ${deepest})`);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Deterministic random numbers in [0, 1) (mulberry32). */
function generator(seed: number): () => number {
  let state = Math.trunc(seed) % 2 ** 32;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
