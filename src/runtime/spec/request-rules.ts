import { invalidField } from '../../cri/field-error.ts';
import { invalidVolumesReason } from '../images/volume-paths.ts';
import { checkMounts } from './mount-rules.ts';
import { checkContainerNamespaces } from './namespace-rules.ts';
import type { SpecRequest } from './spec-request.ts';

/** Rejects what is invalid in the request itself; nothing is read or created. */
export function checkRequest(request: SpecRequest): void {
  const { container, sandbox, image } = request;
  if (container.windows !== undefined) throw invalidField('windows', 'this is a Linux node');
  const privileged = container.linux?.securityContext?.privileged === true;
  if (privileged && !sandbox.linux?.securityContext?.privileged) {
    throw invalidField('linux.security_context.privileged', 'no privileged container allowed in sandbox');
  }
  if (image.workingDir !== '' && container.workingDir === '' && !image.workingDir.startsWith('/')) {
    throw invalidField('image', `working directory ${image.workingDir} is not absolute`);
  }
  if (container.workingDir !== '' && !container.workingDir.startsWith('/')) {
    throw invalidField('working_dir', `${JSON.stringify(container.workingDir)} is not absolute`);
  }
  const workingDir = container.workingDir || image.workingDir;
  if (leadsBelowProc(workingDir)) {
    // Links there lead out of the container: /proc/self/fd/7 may be a directory of the host.
    const field = container.workingDir === '' ? 'image' : 'working_dir';
    throw invalidField(field, `working directory ${JSON.stringify(workingDir)} is below /proc`);
  }
  const volumesError = invalidVolumesReason(image.volumes); // for images stored before this check existed
  if (volumesError !== undefined) throw invalidField('image', volumesError);
  checkMounts(request);
  checkContainerNamespaces(container.linux?.securityContext?.namespaceOptions, sandbox);
}

/** Whether a path is below /proc or leads through it, such as `/proc/self/cwd/..`. */
function leadsBelowProc(path: string): boolean {
  const steps: string[] = [];
  for (const step of path.split('/')) {
    if (step === '' || step === '.') continue;
    if (step === '..') steps.pop();
    else steps.push(step);
    if (steps[0] === 'proc' && steps.length > 1) return true;
  }
  return false;
}
