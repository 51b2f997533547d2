"""An OpenID provider that accepts everyone, for the check of sign-in. python provider.py PORT"""

import base64
import hashlib
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
ISSUER = f"http://127.0.0.1:{sys.argv[1]}"
WHO = {"sub": "1", "name": "Ada Lovelace", "email": "ada@example.org", "email_verified": True}
METADATA = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "userinfo_endpoint": f"{ISSUER}/userinfo",
    "jwks_uri": f"{ISSUER}/keys",
    "response_types_supported": ["code"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["RS256"],
    "code_challenge_methods_supported": ["S256"],
}
queries: dict[str, dict[str, str]] = {}


class Provider(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            code = hashlib.sha256(query["state"].encode()).hexdigest()
            queries[code] = query
            self.send_response(302)
            self.send_header(
                "Location", f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
            )
            self.end_headers()
        else:
            known = {"/keys": {"keys": [KEY.as_dict(private=False)]}, "/userinfo": WHO}
            self._answer(known.get(address.path, METADATA))

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        query = queries.pop(form["code"][0])
        if "code_challenge" in query:
            proof = hashlib.sha256(form["code_verifier"][0].encode()).digest()
            assert base64.urlsafe_b64encode(proof).rstrip(b"=").decode() == query["code_challenge"]
        now = int(time.time())
        claims = WHO | {"iss": ISSUER, "aud": query["client_id"], "iat": now, "exp": now + 600, "nonce": query["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, KEY)
        self._answer({"access_token": "a", "token_type": "Bearer", "expires_in": 600, "id_token": token})

    def _answer(self, what: dict[str, object]) -> None:
        body = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Provider).serve_forever()
