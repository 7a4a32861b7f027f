import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenario } from './scenario.ts';

/** A scenario in its file, by the key that lists of exceptions name: `<topic>/<file>`. */
export interface ScenarioFile {
  readonly key: string;
  readonly topic: string;
  readonly file: string;
}

/** All scenarios of a folder beside this file, in the order of their keys. */
export function scenarioFiles(folder: string): readonly ScenarioFile[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .sort()
    .flatMap((topic) =>
      readdirSync(join(path, topic))
        .sort()
        .map((file) => ({ key: `${topic}/${file.replace(/\.json$/, '')}`, topic, file: join(path, topic, file) })),
    );
}

export const readScenario = ({ file }: ScenarioFile): Scenario => JSON.parse(readFileSync(file, 'utf8')) as Scenario;

/** What lists of exceptions name that is neither a scenario nor a topic (any more). */
export function namesNothing(scenarios: readonly ScenarioFile[], lists: readonly object[]): string[] {
  const known = new Set(scenarios.flatMap(({ key, topic }) => [key, topic]));
  return lists.flatMap((list) => Object.keys(list)).filter((key) => !known.has(key));
}

/** Scenarios that hack/conformance has recorded: one file a topic, one scenario a line. */
export function recordedScenarios(folder: 'recorded' | 'recorded-kcp'): Scenario[] {
  const path = join(import.meta.dirname, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .sort()
    .flatMap((file) => readFileSync(join(path, file), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as Scenario);
}
