import type { Logger, MetricsRegistry } from '@multiplane/component-base';
import type { RecoveryReport } from '@multiplane/storage';

/** Logs what the recovery of the embedded store found, and exports the number of quarantined records. */
export function reportRecovery(
  { truncated, quarantined, quarantinedTotal, losses }: RecoveryReport,
  { logger, registry }: { readonly logger: Logger; readonly registry: MetricsRegistry },
): void {
  if (truncated !== undefined) logger.info(truncated);
  for (const loss of losses) logger.error('started with data loss, which --accept-data-loss accepted', { loss });
  for (const { key, file, offset, bytes, revision, superseded } of quarantined) {
    const record = { key: key ?? 'unknown', file, offset, bytes, revision };
    if (superseded) logger.warn('quarantined a damaged record, which a later write had replaced', record);
    else logger.error('quarantined a damaged record: the object is gone, restore it from a backup', record);
  }
  registry
    .gauge({
      name: 'multiplane_storage_quarantined_records',
      help: 'Damaged records in the folder quarantine of the embedded store.',
    })
    .set(quarantinedTotal);
}
