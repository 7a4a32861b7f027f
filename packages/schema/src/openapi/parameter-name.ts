import { isJsonObject, type Json } from '@multiplane/apimachinery';

/** The name of a parameter of an operation, by which lists of parameters are sorted. */
export const parameterName = (parameter: Json): string =>
  isJsonObject(parameter) && typeof parameter['name'] === 'string' ? parameter['name'] : '';
