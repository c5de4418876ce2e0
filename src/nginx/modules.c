/* The loader tables nginx looks up by name. In C, because ngx_module_names is declared char *[] and C++ would hide or reject it. */
#include <ngx_config.h>
#include <ngx_core.h>

extern ngx_module_t ngx_http_fairway_module;

__attribute__((visibility("default"))) ngx_module_t* ngx_modules[] = {&ngx_http_fairway_module, NULL};
__attribute__((visibility("default"))) char* ngx_module_names[] = {(char*)"ngx_http_fairway_module", NULL};
/* A handler of a later module runs earlier within its phase: before limit_conn here means after limit_req and limit_conn there. */
__attribute__((visibility("default"))) char* ngx_module_order[] = {(char*)"ngx_http_fairway_module", (char*)"ngx_http_limit_conn_module",
                                                                   NULL};
