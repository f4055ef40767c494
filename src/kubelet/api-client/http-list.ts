import { collectionPath, queryString } from './api-paths.ts';
import type { ApiObjects, ObjectList, Resource, Selection } from './api-server.ts';
import type { HttpCalls } from './http-calls.ts';
import { isApiError } from './is-api-error.ts';
import { asObject, decodeObject, resourceVersionOf } from './wire-objects.ts';

/** As client-go's pager. */
const PAGE = '500';

/**
 * All objects in their current state, not from a server's cache, which could be older than what was seen before. Read
 * in pages; if the continue token expires, all at once.
 */
export async function listAll<R extends Resource>(
  selection: Selection<R>,
  calls: Pick<HttpCalls, 'call'>,
  signal: AbortSignal,
): Promise<ObjectList<ApiObjects[R]>> {
  const { resource, fieldSelector } = selection;
  const page = async (parameters: { readonly limit?: string; readonly continue?: string }) => {
    const path = `${collectionPath(selection)}${queryString({ fieldSelector, ...parameters })}`;
    const list = asObject(await calls.call({ method: 'GET', path }, signal));
    return {
      items: decodeItems(resource, list['items']),
      resourceVersion: resourceVersionOf(list),
      next: continueToken(list),
    };
  };
  let { items, resourceVersion, next } = await page({ limit: PAGE });
  while (next !== '') {
    try {
      const rest = await page({ limit: PAGE, continue: next });
      items = [...items, ...rest.items];
      ({ resourceVersion, next } = rest);
    } catch (error) {
      if (!isApiError(error, 'Expired')) throw error;
      ({ items, resourceVersion, next } = await page({}));
    }
  }
  return { items, resourceVersion };
}

/** An empty list may be null. */
function decodeItems<R extends Resource>(resource: R, items: unknown): readonly ApiObjects[R][] {
  return Array.isArray(items) ? items.map((item) => decodeObject(resource, item)) : [];
}

function continueToken(list: Readonly<Record<string, unknown>>): string {
  const next = asObject(list['metadata'])['continue'];
  return typeof next === 'string' ? next : '';
}
