import { at, listAt, numberAt, textAt, textsAt } from '../fields.ts';
import { column } from '../tables/columns.ts';
import {
  accessModesText,
  age,
  flagColumn,
  nativeTable,
  none,
  textColumn,
  textOr,
  unset,
  wideColumn,
  type NativeObject,
} from './cells.ts';

const quantityText = (object: NativeObject, ...path: readonly string[]): string => {
  const value = at(object, ...path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

const modes = (object: NativeObject, ...path: readonly string[]): string => accessModesText(textsAt(object, ...path));

/** An old annotation still decides where it stands. */
const storageClass = (object: NativeObject): string =>
  object.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
  textAt(object, 'spec', 'storageClassName');

const terminatingOr = (object: NativeObject): string =>
  object.metadata.deletionTimestamp === undefined ? textAt(object, 'status', 'phase') : 'Terminating';

export const persistentVolumeTable = nativeTable(
  textColumn('Capacity', (volume) => quantityText(volume, 'spec', 'capacity', 'storage')),
  textColumn('Access Modes', (volume) => modes(volume, 'spec', 'accessModes')),
  textColumn('Reclaim Policy', (volume) => textAt(volume, 'spec', 'persistentVolumeReclaimPolicy')),
  textColumn('Status', terminatingOr),
  textColumn('Claim', (volume) => {
    const claim = at(volume, 'spec', 'claimRef');
    return claim === undefined ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`;
  }),
  textColumn('StorageClass', storageClass),
  textColumn('VolumeAttributesClass', textOr(unset, 'spec', 'volumeAttributesClassName')),
  textColumn('Reason', (volume) => textAt(volume, 'status', 'reason')),
  age,
  wideColumn('VolumeMode', textOr(unset, 'spec', 'volumeMode')),
);

export const persistentVolumeClaimTable = nativeTable(
  textColumn('Status', terminatingOr),
  textColumn('Volume', (claim) => textAt(claim, 'spec', 'volumeName')),
  textColumn('Capacity', (claim) =>
    textAt(claim, 'spec', 'volumeName') === '' ? '' : quantityText(claim, 'status', 'capacity', 'storage'),
  ),
  textColumn('Access Modes', (claim) =>
    textAt(claim, 'spec', 'volumeName') === '' ? '' : modes(claim, 'status', 'accessModes'),
  ),
  textColumn('StorageClass', storageClass),
  textColumn('VolumeAttributesClass', textOr(unset, 'spec', 'volumeAttributesClassName')),
  age,
  wideColumn('VolumeMode', textOr(unset, 'spec', 'volumeMode')),
);

const defaultMarks = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

const plainStorageClassTable = nativeTable(
  textColumn('Provisioner', (object) => textAt(object, 'provisioner')),
  textColumn('ReclaimPolicy', textOr('Delete', 'reclaimPolicy')),
  textColumn('VolumeBindingMode', textOr('Immediate', 'volumeBindingMode')),
  flagColumn('AllowVolumeExpansion', false, 'allowVolumeExpansion'),
  age,
);

/** The class that claims get which name none says so behind its name. */
export const storageClassTable = {
  columns: plainStorageClassTable.columns,
  cells: (object: NativeObject, now: Date) => {
    const [name, ...others] = plainStorageClassTable.cells(object, now);
    const isDefault = defaultMarks.some((mark) => object.metadata.annotations?.[mark] === 'true');
    return [isDefault ? `${name as string} (default)` : (name as string), ...others];
  },
};

export const priorityClassTable = nativeTable(
  {
    column: column('Value', { type: 'integer', description: 'The priority.' }),
    cell: (object) => numberAt(object, 'value') ?? 0,
  },
  flagColumn('Global-Default', false, 'globalDefault'),
  age,
  textColumn('PreemptionPolicy', textOr('PreemptLowerPriority', 'preemptionPolicy')),
);

export const runtimeClassTable = nativeTable(
  textColumn('Handler', (object) => textAt(object, 'handler')),
  age,
);

export const volumeAttachmentTable = nativeTable(
  {
    column: column('Attacher', { format: 'name', description: 'The driver that attaches the volume.' }),
    cell: (object) => textAt(object, 'spec', 'attacher'),
  },
  textColumn('PV', (object) => textAt(object, 'spec', 'source', 'persistentVolumeName')),
  textColumn('Node', (object) => textAt(object, 'spec', 'nodeName')),
  flagColumn('Attached', false, 'status', 'attached'),
  age,
);

export const volumeAttributesClassTable = nativeTable(
  textColumn('DriverName', (object) => textAt(object, 'driverName')),
  age,
);

export const csiDriverTable = nativeTable(
  flagColumn('AttachRequired', true, 'spec', 'attachRequired'),
  flagColumn('PodInfoOnMount', false, 'spec', 'podInfoOnMount'),
  flagColumn('StorageCapacity', false, 'spec', 'storageCapacity'),
  textColumn('TokenRequests', (driver) =>
    at(driver, 'spec', 'tokenRequests') === undefined
      ? unset
      : listAt(driver, 'spec', 'tokenRequests')
          .map((request) => textAt(request, 'audience'))
          .join(','),
  ),
  flagColumn('RequiresRepublish', false, 'spec', 'requiresRepublish'),
  textColumn('Modes', (driver) => textsAt(driver, 'spec', 'volumeLifecycleModes').join(',') || none),
  age,
);

export const csiNodeTable = nativeTable(
  {
    column: column('Drivers', { type: 'integer', description: 'How many drivers the node has.' }),
    cell: (node) => listAt(node, 'spec', 'drivers').length,
  },
  age,
);

export const csiStorageCapacityTable = nativeTable(
  textColumn('StorageClassName', (object) => textAt(object, 'storageClassName')),
  textColumn('Capacity', (object) => quantityText(object, 'capacity') || unset),
);
