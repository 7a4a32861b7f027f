import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import type { KcpCondition } from '../runtime/kcp-conditions.ts';

type Conditions = readonly DeepReadonly<KcpCondition>[] | undefined;

/**
 * Records a Warning event for every condition of an object that is about to become false, or false for another reason. Called
 * before the status is written: a crash in between counts the event twice rather than losing it. Conditions with severity Info
 * are expected states; one that was True before went wrong whatever its severity.
 */
export async function recordConditionEvents(
  recorder: EventRecorder,
  cluster: LogicalClusterName,
  object: DeepReadonly<KubeObject>,
  before: Conditions,
  after: Conditions,
): Promise<void> {
  for (const { type, status, severity, reason = '', message = '' } of after ?? []) {
    if (status === 'True') continue;
    const old = before?.find((condition) => condition.type === type);
    if (old?.status === status && old.reason === reason && old.message === message) continue;
    if (severity === 'Info' && old?.status !== 'True') continue;
    const { name = '', uid = '' } = object.metadata;
    const { apiVersion, kind } = object;
    await recorder.record(
      { cluster, apiVersion, kind, namespace: '', name, uid },
      { type: 'Warning', reason, message: `${type} is ${status}: ${message}` },
    );
  }
}
