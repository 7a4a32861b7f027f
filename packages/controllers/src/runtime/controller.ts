import type { InformerFactory, ObjectClient, WorkQueueMetrics } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';

export { Controller } from '@multiplane/client';

/** Modules of every controller. */
export interface ControllerModules {
  readonly informers: InformerFactory;
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: the work queues have no metrics. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
}
