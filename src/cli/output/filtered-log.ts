import { errorText } from '../../base/error-text.ts';
import type { Log, LogFields } from '../../base/log.ts';

/** Returns a log without the errors of pods that are on the screen: they repeat with each retry. */
export function withoutShownErrors(log: Log, isNewError: (pod: string, error: string) => boolean): Log {
  const isShown = ({ pod, error }: LogFields): boolean =>
    typeof pod === 'string' && error !== undefined && !isNewError(pod, errorText(error));
  return {
    ...log,
    warn: (message, fields = {}) => {
      if (!isShown(fields)) log.warn(message, fields);
    },
    error: (message, fields = {}) => {
      if (!isShown(fields)) log.error(message, fields);
    },
  };
}
