import { deepCopy, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import {
  defaultFlowSchemas,
  defaultPriorityLevels,
  flowControlAutoUpdateAnnotation,
  flowControlGroup,
  type DefaultFlowControlObject,
} from './default-flow-control.data.ts';

const object =
  (kind: string) =>
  ({ name, spec }: DefaultFlowControlObject): KubeObject => ({
    apiVersion: `${flowControlGroup}/v1`,
    kind,
    metadata: { name, annotations: { [flowControlAutoUpdateAnnotation]: 'true' } },
    spec: deepCopy<JsonObject>(spec),
  });

/** The flow schemas that are there from the start, ready to be created. */
export const bootstrapFlowSchemas = (): KubeObject[] => defaultFlowSchemas.map(object('FlowSchema'));

/** The priority levels that are there from the start, ready to be created. */
export const bootstrapPriorityLevels = (): KubeObject[] =>
  defaultPriorityLevels.map(object('PriorityLevelConfiguration'));
