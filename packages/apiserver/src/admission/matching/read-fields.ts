import { getOwn, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

/* Accessors for fields of validated configurations. A value of the wrong type reads as absent. */

export function fieldOf(source: unknown, key: string): Json | undefined {
  return isJsonObject(source) ? getOwn(source, key) : undefined;
}

export function textOf(source: unknown, key: string): string {
  const value = fieldOf(source, key);
  return typeof value === 'string' ? value : '';
}

export function listOf(source: unknown, key: string): readonly Json[] {
  const value = fieldOf(source, key);
  return Array.isArray(value) ? value : [];
}

export const textsOf = (source: unknown, key: string): string[] =>
  listOf(source, key).filter((item): item is string => typeof item === 'string');

export function objectOf(source: unknown, key: string): JsonObject | undefined {
  const value = fieldOf(source, key);
  return isJsonObject(value) ? value : undefined;
}
