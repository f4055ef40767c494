import type { Log, LogFields } from '../../base/log.ts';
import { errorText } from '../../base/error-text.ts';

/** A log without the failures of pods that are on the screen: they come again with each try. */
export function withoutShownErrors(log: Log, isNewError: (pod: string, error: string) => boolean): Log {
  const isTold = ({ pod, error }: LogFields): boolean =>
    typeof pod === 'string' && error !== undefined && !isNewError(pod, errorText(error));
  return {
    ...log,
    warn: (message, fields = {}) => {
      if (!isTold(fields)) log.warn(message, fields);
    },
    error: (message, fields = {}) => {
      if (!isTold(fields)) log.error(message, fields);
    },
  };
}
