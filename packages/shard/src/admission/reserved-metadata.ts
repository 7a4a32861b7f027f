import { clusterAnnotation, mastersGroup, pathAnnotation, quote } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  claimLabelPrefix,
  exportLabel,
  extraAnnotationPrefix,
  skipEndpointSliceAnnotation,
  withheldLabelPrefix,
} from '@multiplane/apis';
import { ownerAnnotation, requiredGroupsAnnotation } from '@multiplane/controllers';

/** Protected by other plugins, set by conversion, or writable by every client. */
const openAnnotations: readonly string[] = [
  ownerAnnotation,
  requiredGroupsAnnotation,
  pathAnnotation,
  clusterAnnotation,
  skipEndpointSliceAnnotation,
  extraAnnotationPrefix,
  'apis.v1alpha2.kcp.io/',
];
const openLabels: readonly string[] = [claimLabelPrefix, withheldLabelPrefix, exportLabel];

/**
 * Rejects changes of kcp's annotations and labels by unprivileged users (kcp `pkg/admission/reservedmetadata`). Off by
 * default. kcp compares the end of the key with `kcp.io`, which matches none of its own keys; here the domain of the key counts.
 */
export class ReservedMetadata implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/ReservedMetadata';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object, oldObject, user } = attributes;
    if (object === undefined || user.groups.includes(mastersGroup)) return;
    const now = object.metadata;
    const before = oldObject?.metadata;
    const annotation = changedKey(now.annotations, before?.annotations, openAnnotations);
    if (annotation !== undefined)
      throw admissionForbidden(attributes, `modification of reserved annotation: ${quote(annotation)}`);
    const label = changedKey(now.labels, before?.labels, openLabels);
    if (label !== undefined) throw admissionForbidden(attributes, `modification of reserved label: ${quote(label)}`);
  }
}

type Texts = Readonly<Record<string, string>> | undefined;

function changedKey(now: Texts = {}, before: Texts = {}, open: readonly string[]): string | undefined {
  return [...new Set([...Object.keys(now), ...Object.keys(before)])]
    .toSorted()
    .find((key) => now[key] !== before[key] && isReserved(key, open));
}

function isReserved(key: string, open: readonly string[]): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? key : key.slice(0, slash);
  if (domain !== 'kcp.io' && !domain.endsWith('.kcp.io')) return false;
  return !open.some((known) => key === known || (known.endsWith('/') && key.startsWith(known)));
}
