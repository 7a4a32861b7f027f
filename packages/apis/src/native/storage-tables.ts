import { at, numberAt, textAt, textsAt } from '../fields.ts';
import { column } from '../tables/columns.ts';
import {
  accessModesText,
  age,
  nativeTable,
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
  {
    column: column('AllowVolumeExpansion', { type: 'boolean', description: 'Whether its volumes may grow.' }),
    cell: (object) => at(object, 'allowVolumeExpansion') === true,
  },
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
  {
    column: column('Global-Default', { type: 'boolean', description: 'Whether pods get it that name none.' }),
    cell: (object) => at(object, 'globalDefault') === true,
  },
  age,
  textColumn('PreemptionPolicy', textOr('PreemptLowerPriority', 'preemptionPolicy')),
);

export const runtimeClassTable = nativeTable(
  textColumn('Handler', (object) => textAt(object, 'handler')),
  age,
);
