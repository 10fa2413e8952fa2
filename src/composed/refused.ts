import { ErrorDetail } from '../wire/reply-head.ts';

/** A call ends with this exception: of a NameNode, with its text as the client may read it, or of the router itself. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** Java class. */
  readonly className: string;
  /** Value of RpcErrorCodeProto. */
  readonly detail: number;

  constructor(className: string, message: string, detail: number = ErrorDetail.ERROR_APPLICATION) {
    super(message);
    this.className = className;
    this.detail = detail;
  }
}
