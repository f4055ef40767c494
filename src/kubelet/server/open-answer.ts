import { assertNever } from '../../base/assert-never.ts';
import type { ServerRequest, ServerResponse } from '../../host/network.ts';
import { movedTo, plainLine, plainText } from './answers.ts';
import type { OpenRoute } from './route.ts';

/** As Go's own server says it. */
export function openAnswer(
  route: OpenRoute,
  { method, query }: Pick<ServerRequest, 'method' | 'query'>,
): ServerResponse {
  switch (route.kind) {
    case 'badRequest':
      return plainText(400, '400 Bad Request');
    case 'moved':
      return movedTo(query.size > 0 ? `${route.to}?${query}` : route.to, method);
    case 'unknown':
      return plainLine(404, '404 page not found');
    default:
      return assertNever(route);
  }
}
