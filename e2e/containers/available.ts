import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe } from '@jest/globals';
import { skipLoudly } from '../harness/foreign-program.ts';
import { describeWithKubectl } from '../harness/kubectl.ts';
import { nodeImage } from './base-images.ts';
import { repository, type ContainerEngine } from './engine.ts';
import { image, workingEngine } from './working-engine.ts';

/** `describe` for tests that run containers, and kubectl; where they cannot, one skipped test tells the reason. */
export function describeWithContainers(name: string, tests: (engine: ContainerEngine) => void): void {
  let found: ReturnType<typeof workingEngine>;
  try {
    found = workingEngine();
  } catch (error) {
    return skipLoudly(name, (error as Error).message);
  }
  describeWithKubectl(name, () => {
    describe(`on ${found.variant}`, () => {
      tests(found.engine);
    });
  });
}

/** Builds the image of this checkout as its users do. */
export async function buildImage(
  engine: ContainerEngine,
  {
    tag = image,
    platform = '',
    env = {},
  }: { tag?: string; platform?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const script = join(repository, 'hack', 'image');
  await promisify(execFile)(script, [tag, ...(platform === '' ? [] : [platform])], {
    env: { ...engine.env, CONTAINER_ENGINE: engine.command, NODE_IMAGE: nodeImage(engine), ...env },
    maxBuffer: 64 << 20,
  });
  // Layers of builds of days ago: nothing else deletes them from a store of the suites' own.
  if (!engine.dialect.shared) await engine.run(['image', 'prune', '--force', '--filter', 'until=48h']);
}
