import { assertNever } from '../../base/assert-never.ts';
import type { ServerRequest, ServerResponse } from '../../host/network.ts';
import { errorLine, plainText, redirectTo } from './responses.ts';
import type { OpenRoute } from './route.ts';

/** The responses of Go's `ServeMux`. */
export function openResponse(
  route: OpenRoute,
  { method, query }: Pick<ServerRequest, 'method' | 'query'>,
): ServerResponse {
  switch (route.kind) {
    case 'badRequest':
      return plainText(400, '400 Bad Request');
    case 'moved':
      return redirectTo(query.size > 0 ? `${route.to}?${query}` : route.to, method);
    case 'unknown':
      return errorLine(404, '404 page not found');
    default:
      return assertNever(route);
  }
}
