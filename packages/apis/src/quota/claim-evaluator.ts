import type { DeepReadonly, KubeObject, Quantity } from '@multiplane/apimachinery';
import { annotationOf, at, textAt } from '../fields.ts';
import { amountsAt, one, type MutableAmounts } from './amounts.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';
import { namesMatch } from './scope-requirements.ts';

type Claim = DeepReadonly<KubeObject>;

const claims = 'persistentvolumeclaims';
const storage = 'requests.storage';
const classInfix = '.storageclass.storage.k8s.io/';

/** Claims of volumes, by number and size, in all and by storage class (persistent_volume_claims.go of Kubernetes). */
export const claimEvaluator: QuotaEvaluator = {
  readsContent: true,
  // The status says what was allocated and which class of attributes the claim has.
  handles: ({ operation, subresource }) => subresource === '' || (subresource === 'status' && operation === 'UPDATE'),
  counts: (name) =>
    name === `count/${claims}` ||
    [claims, storage].some((resource) => name === resource || name.endsWith(classInfix + resource)),
  matches: (requirement, claim) =>
    requirement.scope === 'VolumeAttributesClass' && namesMatch(requirement, [...classNames(claim)]),
  usage(claim) {
    const usage: MutableAmounts = new Map([
      [claims, one],
      [`count/${claims}`, one],
    ]);
    const storageClass =
      annotationOf(claim, 'volume.beta.kubernetes.io/storage-class') || textAt(claim, 'spec', 'storageClassName');
    if (storageClass !== '') usage.set(storageClass + classInfix + claims, one);
    const size = requestedSize(claim);
    if (size === undefined) return usage;
    usage.set(storage, size);
    if (storageClass !== '') usage.set(storageClass + classInfix + storage, size);
    return usage;
  },
};

const allocated = (claim: Claim): Quantity | undefined =>
  amountsAt(claim, 'status', 'allocatedResources').get('storage');

/** In whole bytes; what was allocated counts if it is more than what is requested now. */
function requestedSize(claim: Claim): Quantity | undefined {
  const requested = amountsAt(claim, 'spec', 'resources', 'requests').get('storage');
  if (requested === undefined) return undefined;
  const given = allocated(claim);
  return (given !== undefined && given.compare(requested) > 0 ? given : requested).roundUp(0);
}

/** The classes that the claim wants, has, and is being changed to. */
function classNames(claim: Claim): Set<string> {
  const names = [
    at(claim, 'spec', 'volumeAttributesClassName'),
    at(claim, 'status', 'currentVolumeAttributesClassName'),
    at(claim, 'status', 'modifyVolumeStatus', 'targetVolumeAttributesClassName'),
  ];
  return new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''));
}
