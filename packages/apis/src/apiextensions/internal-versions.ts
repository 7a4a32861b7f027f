import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { shownSchema } from '@multiplane/schema';
import { at, listAt, numberAt, objectAt, textAt } from '../fields.ts';

/** Parts of a version that stand at the top of Kubernetes' internal version while all versions have the same. */
export const sharedParts = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;
export type SharedPart = (typeof sharedParts)[number];

/** The versions of a definition as messages show them: with Go's field names, and without the parts that all share. */
export function shownVersions(spec: JsonObject, lifted: ReadonlySet<SharedPart>): Json {
  if ((at(spec, 'versions') ?? null) === null) return null;
  const part = (name: SharedPart, version: Json, form: (value: Json) => Json): Json => {
    const value = lifted.has(name) ? undefined : at(version, name);
    return value === undefined || value === null ? null : form(value);
  };
  return listAt(spec, 'versions').map((version) => ({
    Name: textAt(version, 'name'),
    Served: at(version, 'served') === true,
    Storage: at(version, 'storage') === true,
    Deprecated: at(version, 'deprecated') === true,
    DeprecationWarning: at(version, 'deprecationWarning') ?? null,
    Schema: part('schema', version, schemaForm),
    Subresources: part('subresources', version, subresourcesForm),
    AdditionalPrinterColumns: part('additionalPrinterColumns', version, columnsForm),
    SelectableFields: part('selectableFields', version, (fields) =>
      list(fields).map((field) => ({ JSONPath: textAt(field, 'jsonPath') })),
    ),
  }));
}

const list = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

function schemaForm(value: Json): Json {
  const schema = objectAt(value, 'openAPIV3Schema');
  const shown = schema === undefined ? null : shownSchema(schema);
  return { OpenAPIV3Schema: isJsonObject(shown) ? shown : null };
}

function subresourcesForm(value: Json): Json {
  const scale = objectAt(value, 'scale');
  return {
    Status: objectAt(value, 'status') === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: textAt(scale, 'specReplicasPath'),
            StatusReplicasPath: textAt(scale, 'statusReplicasPath'),
            LabelSelectorPath: at(scale, 'labelSelectorPath') ?? null,
          },
  };
}

const columnsForm = (columns: Json): Json =>
  list(columns).map((column) => ({
    Name: textAt(column, 'name'),
    Type: textAt(column, 'type'),
    Format: textAt(column, 'format'),
    Description: textAt(column, 'description'),
    Priority: numberAt(column, 'priority') ?? 0,
    JSONPath: textAt(column, 'jsonPath'),
  }));
