import { getOwn, isJsonObject, setOwn, type Json, type JsonObject, type UserInfo } from '@multiplane/apimachinery';

/**
 * The user in the status of a TokenReview; members of other types count as missing, and the name of a missing user is empty.
 * `keyOf`: the form of the keys of `extra`, default as they are.
 */
export function reviewedUser(status: JsonObject, keyOf: (key: string) => string = (key) => key): UserInfo {
  const user = objectIn(status, 'user');
  const extra: Record<string, readonly string[]> = {};
  const given = objectIn(user, 'extra');
  for (const key of Object.keys(given)) setOwn(extra as unknown as JsonObject, keyOf(key), textsIn(given, key));
  return { name: textIn(user, 'username'), uid: textIn(user, 'uid'), groups: textsIn(user, 'groups'), extra };
}

export const textIn = (object: JsonObject, name: string): string => {
  const value = getOwn(object, name);
  return typeof value === 'string' ? value : '';
};
export const textsIn = (object: JsonObject, name: string): string[] => {
  const value: Json | undefined = getOwn(object, name);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
};
export const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = getOwn(object, name);
  return isJsonObject(value) ? value : {};
};
