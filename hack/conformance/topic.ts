import type { Scenario, Step } from '../../e2e/conformance/scenario.ts';
import { collectionPath, kinds } from './kinds.ts';
import type { Random } from './random.ts';

/** One subject of the generated scenarios. */
export interface Topic {
  readonly name: string;
  /** The steps of one scenario; names that others could see contain `{{run}}`. */
  readonly steps: (random: Random) => Step[];
  /** About kcp's API: paths are complete, annotations of kcp count, and the steps themselves read what they wrote. */
  readonly isKcp?: true;
}

export const namespacePath = '/api/v1/namespaces/t-{{run}}';

/** Makes the namespace of a scenario. */
export const createNamespace: Step = {
  method: 'POST',
  path: '/api/v1/namespaces',
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 't-{{run}}' } },
  only: [],
};

/** A scenario whose steps end with reading every object that one of them may have written. */
export function scenarioOf(topic: Topic, name: string, random: Random): Scenario {
  const steps = topic.steps(random);
  if (topic.isKcp === true) return { name, topic: topic.name, kcp: true, steps };
  // Before what tidies up: a definition is deleted by a controller, so that its later reads are a race.
  const end = steps.findLastIndex((step) => !isCleanUp(step)) + 1;
  return {
    name,
    topic: topic.name,
    revisions: true,
    steps: [...steps.slice(0, end), ...afterwards(steps.slice(0, end)), ...steps.slice(end)],
  };
}

const collections: ReadonlySet<string> = new Set(kinds.map(collectionPath));

const isCleanUp = ({ method, only }: Step): boolean => method === 'DELETE' && only?.length === 0;

/** Reads of what the steps wrote: a difference that no answer showed is in the store. */
function afterwards(steps: readonly Step[]): Step[] {
  const written = steps.flatMap(({ method = 'GET', path, body, until }) => {
    if (method === 'GET' || until !== undefined || path === undefined) return [];
    const plain = path.split('?')[0] as string;
    if (!/^\/apis?\//.test(plain)) return [];
    if (method !== 'POST') return [plain.replace(/\/(status|scale)$/, '')];
    const name = (body as { metadata?: { name?: unknown } } | null | undefined)?.metadata?.name;
    return typeof name === 'string' && /^[a-z][\w.{}-]*$/.test(name) ? [`${plain}/${name}`] : [];
  });
  return [...new Set(written)]
    .filter((path) => path !== namespacePath && !collections.has(path) && !/reviews?(\/|$)|\/token$/.test(path))
    .slice(0, 4)
    .map((path) => ({ path }));
}
