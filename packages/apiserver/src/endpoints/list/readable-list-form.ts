import {
  type DeepReadonly,
  type KubeObject,
  encodeYaml,
  encodeYamlIncrementally,
  indentedJsonParts,
  parseJsonIncrementally,
} from '@multiplane/apimachinery';
import { encodeObject, type RequestContext } from '@multiplane/generic-server';
import type { CacheEntry } from '@multiplane/storage';
import { encodeForWireIncrementally } from '../../registry/codec/object-codec.ts';
import { itemOffset } from '../../registry/codec/stored-layout.ts';
import { whileTimeLasts } from '../../time-slices.ts';
import type { ChunkedBody } from '../response/chunked-body.ts';
import { inWireOrder } from '../response/object-response.ts';
import {
  includeObjectOf,
  partialObject,
  partialObjectIncrementally,
  tableRow,
  tableRowIncrementally,
} from '../response/table-writer.ts';
import type { ListForm } from './list-form.ts';
import type { ListResponse } from './list-response.ts';

/** YAML and indented JSON, which people read: items are encoded one by one, without caching. `plain`: the form in compact JSON. */
export function readableForm(list: ListResponse, plain: ListForm): ListForm {
  const { context, definition, negotiated, reader, now } = list;
  const { transform } = negotiated;
  const skeleton = JSON.parse(plain.head + plain.tail) as Record<string, unknown>;
  const field = transform?.kind === 'Table' ? 'rows' : 'items';
  const include = transform?.kind === 'Table' ? includeObjectOf(context.info.query) : 'None';
  const itemOf = (entry: CacheEntry): unknown => {
    const object = reader.object(definition, entry);
    if (transform?.kind === 'Table') return JSON.parse(tableRow(definition, object, transform, include, now));
    if (transform !== undefined) return JSON.parse(partialObject(object, transform));
    const whole = inWireOrder(object) as Record<string, unknown>;
    if (definition.origin === 'built-in') {
      delete whole['kind'];
      delete whole['apiVersion'];
    }
    return whole;
  };
  const empty = plain.empty === undefined ? undefined : encodeObject(JSON.parse(plain.empty), negotiated);
  /** The JSON of a large item in the list. */
  const jsonOf = async (object: DeepReadonly<KubeObject>, entry: CacheEntry): Promise<Buffer | string> => {
    if (transform !== undefined) {
      const steps =
        transform.kind === 'Table'
          ? tableRowIncrementally(definition, object, transform, include, now)
          : partialObjectIncrementally(object, transform);
      return whileTimeLasts(steps, context);
    }
    const stored = plain.run?.([entry]);
    if (stored !== undefined) return stored.subarray(1);
    const json = Buffer.from(await whileTimeLasts(encodeForWireIncrementally(object as KubeObject), context));
    return definition.origin === 'built-in' ? Buffer.concat([Buffer.from('{'), json.subarray(itemOffset(json))]) : json;
  };
  if (negotiated.encoding === 'yaml')
    return {
      ...yamlForm(skeleton, field, itemOf),
      ...(empty === undefined ? {} : { empty }),
      large: (body, entry) => async (object) => writeLargeYaml(context, body, await jsonOf(object, entry)),
    };
  const text = encodeObject(skeleton, negotiated);
  const end = text.lastIndexOf('[]');
  return {
    empty: empty ?? text,
    head: `${text.slice(0, end)}[`,
    separator: ',',
    tail: `\n  ]${text.slice(end + 2)}`,
    large: (body, entry) => async (object) => {
      body.pushString('\n    ');
      for (const part of indentedJsonParts((await jsonOf(object, entry)).toString())) {
        body.pushString(part.replaceAll('\n', '\n    '));
        if (body.shouldPause) await body.checkpoint();
      }
    },
    item(body, entry) {
      body.pushString(`\n    ${encodeObject(itemOf(entry), negotiated).replaceAll('\n', '\n    ')}`);
    },
  };
}

/** Writes a large item, of which these are the bytes in the list as JSON. */
async function writeLargeYaml(context: RequestContext, body: ChunkedBody, json: Buffer | string): Promise<void> {
  const { value } = await whileTimeLasts(parseJsonIncrementally(json, false), context);
  body.pushString(await whileTimeLasts(encodeYamlIncrementally([value]), context));
}

/** The YAML form: members sorted by name, with the list between those before and those after it. */
function yamlForm(skeleton: Record<string, unknown>, field: string, itemOf: (entry: CacheEntry) => unknown): ListForm {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(skeleton)) {
    if (key !== field) (key < field ? before : after)[key] = value;
  }
  const rest = Object.keys(after).length === 0 ? '' : encodeYaml(after);
  return {
    head: `${encodeYaml(before)}${field}:\n`,
    separator: '',
    tail: rest,
    empty: `${encodeYaml(before)}${field}: []\n${rest}`,
    item(body, entry) {
      body.pushString(encodeYaml([itemOf(entry)] as never));
    },
  };
}
