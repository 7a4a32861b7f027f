import type { Scenario, Step } from '../../e2e/conformance/scenario.ts';

type Fails = (scenario: Scenario) => Promise<boolean>;

/**
 * The smallest scenario found that still fails: delta debugging over steps (Zeller, ddmin: drop ever smaller chunks), then
 * over the members of the bodies that are left. At most `budget` plays.
 */
export async function shrink(scenario: Scenario, fails: Fails, budget: number): Promise<Scenario> {
  let plays = 0;
  const accepts = async (candidate: Scenario): Promise<boolean> => plays++ < budget && (await fails(candidate));
  const fewerSteps = await withFewerSteps(scenario, accepts);
  return withSmallerBodies(fewerSteps, accepts);
}

async function withFewerSteps(scenario: Scenario, fails: Fails): Promise<Scenario> {
  let current = scenario;
  for (let size = Math.ceil(current.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < current.steps.length;) {
      const steps = [...current.steps.slice(0, from), ...current.steps.slice(from + size)];
      const candidate = { ...current, steps };
      if (isPlayable(steps) && (await fails(candidate))) current = candidate;
      else from += size;
    }
  }
  return current;
}

/** A collection needs its watch. */
const isPlayable = (steps: readonly Step[]): boolean =>
  steps.length > 0 &&
  steps.every(({ collect }) => collect === undefined || steps.some(({ watch }) => watch === collect));

async function withSmallerBodies(scenario: Scenario, fails: Fails): Promise<Scenario> {
  let current = scenario;
  for (const index of current.steps.keys()) {
    for (const path of pathsOf(current.steps[index]?.body)) {
      const step = current.steps[index] as Step;
      const body = without(step.body, path);
      if (body === undefined) continue;
      const steps = current.steps.with(index, { ...step, body });
      const candidate = { ...current, steps };
      if (await fails(candidate)) current = candidate;
    }
  }
  return current;
}

/** Places of a body, outermost first. */
function pathsOf(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const members = Object.entries(value);
  return [
    ...members.map(([key]) => [...path, key]),
    ...members.flatMap(([key, inner]) => pathsOf(inner, [...path, key])),
  ];
}

/** A copy without a place; undefined if it is gone already. */
function without(value: unknown, path: readonly string[]): unknown {
  const copy = structuredClone(value);
  let container = copy as Record<string, unknown> | undefined;
  for (const key of path.slice(0, -1)) container = container?.[key] as Record<string, unknown> | undefined;
  const last = path.at(-1) as string;
  if (typeof container !== 'object' || container === null || !Object.hasOwn(container, last)) return undefined;
  if (Array.isArray(container)) container.splice(Number(last), 1);
  else delete container[last];
  return copy;
}
