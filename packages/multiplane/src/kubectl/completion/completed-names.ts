import type { Command, Option } from 'commander';

/** What the names on a command line belong to. */
export type NameKind =
  | 'workspace'
  | 'workspace type'
  | 'export reference'
  | 'apiexport'
  | 'apibinding'
  | 'context'
  | 'shard'
  | 'file';

const ofArguments = new WeakMap<Command, NameKind>();

/** Declares what the argument of a command names, for completion. */
export function completeArgument(command: Command, kind: NameKind): Command {
  ofArguments.set(command, kind);
  return command;
}

export const argumentNames = (command: Command): NameKind | undefined => ofArguments.get(command);

const ofOptions: Readonly<Record<string, NameKind>> = {
  '--workspace': 'workspace',
  '--type': 'workspace type',
  '--context': 'context',
  '--kubeconfig': 'file',
  '--certificate-authority': 'file',
  '--filename': 'file',
};

export const optionNames = ({ long }: Option): NameKind | undefined => ofOptions[long ?? ''];
