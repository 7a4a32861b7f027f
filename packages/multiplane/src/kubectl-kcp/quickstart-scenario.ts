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

/** The dependencies and shared state of the steps. */
export interface QuickstartContext {
  readonly modules: CommandModules;
  /** Deadline of all steps, in milliseconds of `performance.now`. */
  readonly deadline: number;
  readonly paths: { org?: string; provider?: string; consumer?: string };
}

export interface QuickstartStep {
  readonly description: string;
  run(context: QuickstartContext): Promise<void>;
}

/** A sample installation below one organization, which can be created and deleted. */
export interface Scenario {
  readonly name: string;
  /** Names of its workspaces, at least the longest one, for validation. */
  readonly workspaceNames: readonly string[];
  readonly steps: readonly QuickstartStep[];
  readonly samples: readonly QuickstartStep[];
  /** Describes what is deleted with the organization. */
  readonly cascades: string;
  /** The workspace path of `--enter`. */
  entry(paths: QuickstartContext['paths']): string | undefined;
  summary(paths: QuickstartContext['paths'], withSamples: boolean): string;
}

export const organizationName = (prefix: string): string => `${prefix}-org`;
