import type { CommandModules } from '../kubectl-ws/commands.ts';

export interface QuickstartFlags {
  readonly scenario: string;
  readonly namePrefix: string;
  readonly cleanup?: boolean;
  readonly enter?: boolean;
  readonly withSamples?: boolean;
  readonly timeoutMs: number;
  readonly treeDepth: number;
  readonly treeCount: number;
  readonly treeSeed: number;
}

/** What the steps of a scenario work with, and leave to each other. */
export interface QuickstartContext {
  readonly modules: CommandModules;
  /** When the whole must be done (milliseconds of `performance.now`). */
  readonly deadline: number;
  readonly paths: { org?: string; provider?: string; consumer?: string };
}

export interface QuickstartStep {
  readonly description: string;
  run(context: QuickstartContext): Promise<void>;
}

/** A set-up that can be made and taken down again: everything in it is below one organization. */
export interface Scenario {
  readonly name: string;
  /** Names of workspaces that it makes, the longest among them. */
  readonly workspaceNames: readonly string[];
  readonly steps: readonly QuickstartStep[];
  readonly samples: readonly QuickstartStep[];
  /** What deleting the organization takes with it. */
  readonly cascades: string;
  /** Where `--enter` leads. */
  entry(paths: QuickstartContext['paths']): string | undefined;
  summary(paths: QuickstartContext['paths'], withSamples: boolean): string;
}

export const organizationName = (prefix: string): string => `${prefix}-org`;
