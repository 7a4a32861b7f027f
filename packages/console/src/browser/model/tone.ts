import type { Condition } from '../data/kube-object.ts';

/** How a state is coloured. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral';

/** Types for which "True" is what nobody wants. */
const negative =
  /(Fail|Error|Degraded|Conflict|Invalid|Pressure|Unavailable|Denied|Blocked|Stalled|ContentDeletion|Remaining)/;

export function conditionTone({ type, status }: Pick<Condition, 'type' | 'status'>): Tone {
  if (status === 'Unknown') return 'neutral';
  const isWell = (status === 'True') !== negative.test(type);
  if (isWell) return 'good';
  return type === 'Ready' || negative.test(type) ? 'bad' : 'warn';
}

const phases: Readonly<Record<string, Tone>> = {
  Ready: 'good',
  Bound: 'good',
  Active: 'good',
  Running: 'good',
  Succeeded: 'good',
  Available: 'good',
  Established: 'good',
  Scheduling: 'info',
  Initializing: 'info',
  Binding: 'info',
  Pending: 'info',
  Unbinding: 'warn',
  Terminating: 'warn',
  Deleting: 'warn',
  Unavailable: 'bad',
  Failed: 'bad',
  Error: 'bad',
};

/** The tone of a phase of a status; neutral for words that are unknown here. */
export const phaseTone = (phase: string): Tone => phases[phase] ?? 'neutral';
