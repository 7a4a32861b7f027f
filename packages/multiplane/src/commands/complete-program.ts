import { join } from 'node:path';
import { completeWords, type CompletedWord, type FlagNames, type Program } from '@multiplane/component-base';
import { shardOptionTable } from './workspace/shard-connections.ts';

/** Flags whose values a running control plane knows. */
const kinds = new Map([
  ['workspace', 'workspace'],
  ['shard', 'shard'],
  ['target-shard', 'shard'],
  ['context', 'context'],
] as const);

/** `multiplane __complete <words>`, for the scripts of `multiplane completion`. */
export async function completeProgram(
  program: Program,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const found = await completeWords(program, words, liveNames(environment));
  const lines = (found ?? []).map(({ word, description = '' }) => `${word}\t${description.replaceAll(/\s+/g, ' ')}`);
  return [...lines, found === undefined ? ':0' : ':4', ''].join('\n');
}

const liveNames =
  (environment: NodeJS.ProcessEnv): FlagNames =>
  async (flag, prefix, flags): Promise<readonly CompletedWord[] | undefined> => {
    const kind = kinds.get(flag as 'workspace');
    if (kind === undefined) return undefined;
    const { LiveNames } = await import('../kubectl/completion/live-names.ts');
    const directory = flags.get('root-directory');
    const kubeconfig =
      flags.get('kubeconfig') ??
      (directory === undefined ? shardOptionTable.kubeconfig.default : join(directory, 'admin.kubeconfig'));
    const source = new LiveNames({ environment });
    if (kind !== 'workspace') return (await source.names(kind, prefix, { kubeconfig })).candidates;
    // Paths of flags are absolute, without the colon that `kubectl ws` has before them.
    const { candidates } = await source.names(kind, `:${prefix}`, { kubeconfig });
    return candidates.map(({ word, description }) => ({ word: word.slice(1), description }));
  };
